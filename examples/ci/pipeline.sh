#!/bin/sh
# What CI does with the repository beside this file, run here from end to end: a good change passes,
# a bad one fails and says why. With GITHUB_REPOSITORY and its kind set, the comment is written too.
#
#   sh pipeline.sh [FOLDER]
set -eu

here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$(mktemp -d)}
export ANSWERS="python bot.py"
export GIT_AUTHOR_NAME=demo GIT_AUTHOR_EMAIL=demo@example.org
export GIT_COMMITTER_NAME=demo GIT_COMMITTER_EMAIL=demo@example.org

mkdir -p "$folder"
cp -R "$here/repository/." "$folder"
mkdir -p "$folder/ci"
cp "$here/action.yml" "$here/gitlab.yml" "$here/compare.sh" "$here/comment.py" "$folder/ci"
cd "$folder"
git init --quiet --initial-branch=main
git add .
git commit --quiet -m "A bot that answers from passages"

change() { # BRANCH EXPECTED
  echo "== $1 change"
  git checkout --quiet -b "$1" main
  git apply "changes/$1.patch"
  git commit --quiet -am "The $1 change"
  code=0
  sh ci/compare.sh main || code=$?
  cp .veridical-ci/out/summary.md ".veridical-ci/$1.md"
  if [ -n "${GITHUB_REPOSITORY:-}" ]; then
    python ci/comment.py .veridical-ci/out/summary.md
  fi
  if [ "$code" -ne "$2" ]; then
    echo "the $1 change should have ended with $2, not with $code"
    exit 1
  fi
  echo "== $1 change: exit code $code, as it should be"
}

change good 0
change bad 4
