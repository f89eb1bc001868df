"""Refusals in many wordings, and answers that are none."""

from __future__ import annotations

import time

import pytest

from veridical.text.refusals import abstains

REFUSALS = """
I don't know.
I’m not sure.
I have no idea who that is.
I'm sorry, but I can't help with that.
Sorry, I cannot provide medical advice. Please consult a doctor.
I am unable to answer this question based on the provided context.
I must decline to answer that.
It is hard to say.
It is difficult to tell what happened.
I won't be able to help with this request.
The context does not mention the release date.
There is not enough information to determine this.
The answer cannot be determined from the given passages.
Based on the provided passages, it is not clear which channel airs the lottery.
That information is not available in the provided documents.
Unknown
N/A
As an AI language model, I don't have personal opinions.
I don't have access to real-time data. Is there anything else I can help with?
Unfortunately, I could not find any information about this person.
Ich weiß es nicht.
Es tut mir leid, ich kann diese Frage nicht beantworten.
Je ne sais pas.
Désolé, je ne peux pas répondre à cette question.
Lo siento, no puedo responder a esa pregunta.
No lo sé.
Mi dispiace, non posso rispondere a questa domanda.
Desculpe, não posso responder a essa pergunta.
Ik weet het niet.
К сожалению, я не могу ответить на этот вопрос.
抱歉，我无法回答这个问题。
申し訳ありませんが、その質問にはお答えできません。
""".strip().splitlines()

ANSWERS = """
The cause of her death is not known.
The population of the region is unknown.
His date of birth is unknown, but he died in 1850.
I'm not sure, but I think it was in 1912.
I don't know who wrote it, but it was published by Penguin. You might like it.
It is not clear why the empire fell.
The company could not find a buyer.
He said he did not know the answer.
Scientists do not know what dark matter is.
There is insufficient evidence on the health benefits of cat's claw.
The album was not available in Europe.
No, goat's milk does not create mucus.
No
I cannot believe how good this film is.
Unknown Pleasures is the debut album by Joy Division.
None of the members were born in Ohio.
As an AI language model, I can tell you that Oslo is in Norway.
I did not know that. Wasn't James Rodriguez also at FC Porto?
Paris is the capital of France. I don't know more.
She cannot answer the phone.
Er kannte die Stadt nicht.
这座城市没有地铁。
""".strip().splitlines()


@pytest.mark.parametrize("response", REFUSALS)
def test_refusals(response):
    assert abstains(response)
    assert abstains(f"  {response}\n")


@pytest.mark.parametrize("response", [*ANSWERS, "", " ", "?!"])
def test_answers(response):
    assert not abstains(response)


@pytest.mark.parametrize("piece", ["the provided ", "there is no ", "i cannot ", "sorry, but no "])
def test_linear_time(piece):
    start = time.process_time()
    abstains((piece * 100)[:1000])
    abstains(piece * 10_000)
    assert time.process_time() - start < 20  # minutes, were it quadratic
