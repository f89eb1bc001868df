#!/bin/sh
# Compare the answers of the working tree with those of a base commit.
#
#   ANSWERS='python bot.py' compare.sh BASE
#
# ANSWERS   command that prints the answers as JSON lines; it runs in the root of the repository
# OPTIONS   options of veridical check, such as --nli base
# TOLERATE  the rise of the share of bad answers that is no failure (default 0)
# CACHE     folder of the results of commits (default .veridical-ci/cache): keep it between jobs
# OUT       folder that is written: summary.md, changes.html, junit.xml, changes.sarif
#           (default .veridical-ci/out)
#
# Exit code: 0 not shown to be worse, 4 worse, others as veridical check and diff have them.
set -eu

base=$(git rev-parse --verify "$1^{commit}")
CACHE=${CACHE:-.veridical-ci/cache}
OUT=${OUT:-.veridical-ci/out}
mkdir -p "$CACHE" "$OUT"
CACHE=$(cd "$CACHE" && pwd)
OUT=$(cd "$OUT" && pwd)
work=$(mktemp -d)
trap 'git worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT

# What else decides the results of a commit: how it is asked and checked.
method=$(printf '%s\n%s\n%s\n' "$ANSWERS" "${OPTIONS:-}" "$(veridical --version)" | git hash-object --stdin)

check() { # FOLDER RESULTS
  (cd "$1" && sh -c "$ANSWERS") > "$work/answers.jsonl"
  # shellcheck disable=SC2086  # several options
  (cd "$1" && veridical check "$work/answers.jsonl" --out "$work/run" --fresh \
    --store "$CACHE/store" --json "$work/results.jsonl" ${OPTIONS:-})
  mv "$work/results.jsonl" "$2"
}

before="$CACHE/$base-$method.jsonl"
if [ -e "$before" ]; then
  echo "base $base: from the cache"
else
  echo "base $base: not in the cache, so it is checked here"
  git worktree add --quiet --detach "$work/base" "$base"
  check "$work/base" "$before"
fi

now="$work/now.jsonl"
check . "$now"
if [ -z "$(git status --porcelain --untracked-files=no)" ]; then
  # when this commit is a base, its results are there
  cp "$now" "$CACHE/$(git rev-parse HEAD)-$method.jsonl"
fi
cp "$before" "$OUT/base.jsonl"
cp "$now" "$OUT/head.jsonl"
cd "$OUT"
veridical diff base.jsonl head.jsonl --tolerate "${TOLERATE:-0}" --markdown summary.md \
  --html changes.html --junit junit.xml --sarif changes.sarif
