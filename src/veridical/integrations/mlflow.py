"""MLflow 3 scorer: ``mlflow.genai.evaluate(data, scorers=[mlflow_scorer()])``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from veridical.integrations.judgement import fields_of, judgement, texts_of
from veridical.io.names import ALIASES
from veridical.single import check_one

if TYPE_CHECKING:
    from mlflow.entities import Trace
    from mlflow.genai.scorers import Scorer


def mlflow_scorer(name: str = "veridical", **options: Any) -> Scorer:
    """Create a scorer with two feedbacks, ``NAME`` and ``NAME_risk``.

    ``NAME`` is whether the answer was checked and passed, with the reason. ``NAME_risk`` is the
    risk, or an error if the answer was not checked. Sources, question, samples and references are
    taken from ``inputs``, then from ``expectations``, under the column names of inputs. Otherwise
    the sources are the results of the trace's retrievers, and ``expected_response`` is the
    reference.

    Args:
        options: of :func:`veridical.check_one`.
    """
    from mlflow.entities import AssessmentSource, Feedback
    from mlflow.genai.scorers import scorer

    source = AssessmentSource(source_type="CODE", source_id="veridical")

    def veridical(
        *,
        inputs: Any = None,
        outputs: Any = None,
        expectations: Any = None,
        trace: Trace | None = None,
    ) -> list[Feedback]:
        expected = expectations if isinstance(expectations, Mapping) else {}
        more = {"reference": expected.get("expected_response"), "contexts": _retrieved(trace)}
        fields = fields_of(inputs, expected, more)
        judged = judgement(check_one(_answer(outputs), **fields, **options))
        known = judged.value is not None and judged.checked
        return [
            Feedback(
                name=name,
                value=judged.passed,
                rationale=judged.reason,
                source=source,
                metadata={"verdict": judged.label},
            ),
            Feedback(
                name=f"{name}_risk",
                value=judged.value if known else None,
                error=None if known else judged.reason,
                source=source,
            ),
        ]

    return scorer(veridical, name=name)


def _answer(outputs: Any) -> str:
    """Return the answer in an application's output: a text, or the first value with an answer's
    name.
    """
    names = ("response", *ALIASES["response"], "content")
    values = [outputs.get(name) for name in names] if isinstance(outputs, Mapping) else [outputs]
    return next((value for value in values if isinstance(value, str)), "")


def _retrieved(trace: Trace | None) -> list[str]:
    spans = trace.search_spans(span_type="RETRIEVER") if trace is not None else []
    return [text for span in spans for text in texts_of(span.outputs)]
