#!/bin/sh
# Compare the answers of the working tree with those of a base commit.
#
#   ANSWERS='python bot.py' compare.sh BASE
#
# ANSWERS   command that prints the answers as JSON lines; it runs in the root of the repository
# OPTIONS   options of veridical check, such as --nli base
# TOLERATE  the rise of the share of bad answers that is no failure (default 0)
# CACHE     folder of the answers and runs of commits (default .veridical-ci/cache): keep it between
#           jobs
# OUT       folder that is written: summary.md, changes.html, junit.xml, changes.sarif, and the
#           results base.jsonl and head.jsonl (default .veridical-ci/out)
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

check() { # FOLDER PLACE: the answers of a folder, and the run that checks them
  rm -rf "$2"
  mkdir -p "$2"
  (cd "$1" && sh -c "$ANSWERS") > "$2/answers.jsonl"
  # shellcheck disable=SC2086  # several options
  (cd "$1" && veridical check "$2/answers.jsonl" --out "$2/run" --fresh \
    --store "$CACHE/store" --json "$2/results.jsonl" ${OPTIONS:-})
  touch "$2/done"
}

before="$CACHE/$base-$method"
if [ -e "$before/done" ]; then
  echo "base $base: from the cache"
else
  echo "base $base: not in the cache, so it is checked here"
  git worktree add --quiet --detach "$work/base" "$base"
  check "$work/base" "$before"
fi

now="$OUT/head"
if [ -z "$(git status --porcelain --untracked-files=no)" ]; then
  # when this commit is a base, its run is there
  now="$CACHE/$(git rev-parse HEAD)-$method"
fi
check . "$now"
cp "$before/results.jsonl" "$OUT/base.jsonl"
cp "$now/results.jsonl" "$OUT/head.jsonl"
# runs know the questions, which files of results do not
veridical diff "$before/run" "$now/run" --tolerate "${TOLERATE:-0}" --markdown "$OUT/summary.md" \
  --html "$OUT/changes.html" --junit "$OUT/junit.xml" --sarif "$OUT/changes.sarif"
