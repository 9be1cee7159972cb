#!/usr/bin/env bash
# Makes what a release consists of in dist/: a binary and its bill of materials for
# each platform, the manifests with the release's image, the chart, the OLM bundle,
# and the checksums of all. Nothing is uploaded or pushed. Binaries, bills and
# manifests are the same bytes wherever they are made; Helm's archive has times in it.
#
# IMAGE is written as it is given. With a digest, as in registry/ambit:v1@sha256:..., what
# is installed is what was pushed, whatever becomes of the tag: push the image first, and
# give the digest that the registry answers. Nothing here knows a digest by itself.
#
# Usage: release.sh VERSION IMAGE PLATFORM...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$1 image=$2
shift 2

rm -rf dist
mkdir -p dist
for platform in "$@"; do
  os=${platform%/*} arch=${platform#*/}
  binary=dist/ambit-$os-$arch
  GOOS=$os GOARCH=$arch make -s build VERSION="$version" OUTPUT="$binary"
  go run -buildvcs=false ./hack/sbom "$binary" "$version" > "$binary.cdx.json"
done

for overlay in cluster namespaced; do
  bin/kubectl kustomize "manifests/$overlay" | sed "s|image: ambit:latest|image: $image|" > "dist/install-$overlay.yaml"
done
cp manifests/crd/ambit.dev_reconcilepolicies.yaml dist/crd.yaml

# Helm and OLM take semantic versions only; a build without a tag has none.
semver=${version#v}
[[ $semver =~ ^[0-9]+\.[0-9]+\.[0-9]+ ]] || semver=0.0.0-dev
cp -R charts/ambit dist/ambit
name=${image%%@*} digest=
[[ $image != *@* ]] || digest=${image#*@}
tag=${name##*/} repository=$name
if [[ $tag == *:* ]]; then tag=${tag#*:} repository=${name%:*}; elif [[ $digest ]]; then tag=$version; else tag=latest; fi
sed -i.bak -e "s|repository: ambit$|repository: $repository|" -e "s|digest: \"\"$|digest: \"$digest\"|" dist/ambit/values.yaml
rm dist/ambit/values.yaml.bak
bin/helm package dist/ambit --version "$semver" --app-version "$tag" --destination dist > /dev/null
rm -r dist/ambit
go run -buildvcs=false ./hack/bundle manifests/install.yaml dist/bundle "$semver" "$image"

cd dist
find . -type f ! -name SHA256SUMS | LC_ALL=C sort | sed 's|^\./||' | xargs sha256sum > SHA256SUMS
cat SHA256SUMS
