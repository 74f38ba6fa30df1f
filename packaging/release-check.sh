#!/usr/bin/env bash
# Does everything that a release does, except the upload: `make release-check`. The release workflow runs it too.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$1
[ -z "$(git status --porcelain)" ] || { echo "there are changes that are not committed" >&2; exit 1; }
tag=$(git tag --points-at HEAD 'v*')
[ -z "$tag" ] || [ "$tag" = "v$version" ] || { echo "the tag $tag is not v$version of Cargo.toml" >&2; exit 1; }
[ -z "$tag" ] || ! grep -q "^## $version, unreleased" CHANGELOG.md ||
    { echo "CHANGELOG.md: replace \"unreleased\" by the date of $version" >&2; exit 1; }
make examples
make dist
cp target/dist/SHA256SUMS target/dist.first
# Equal sources give equal packages.
packaging/dist.sh "$version" "$PWD/target/tools/bin"
cmp target/dist.first target/dist/SHA256SUMS
rm target/dist.first
make dist-test
echo "release $version: $(wc -l <target/dist/SHA256SUMS) files in target/dist, tested"
