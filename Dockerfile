# Any builder that knows several stages will do. The build needs Go
# modules and nothing else from the network. Both images can be named otherwise:
#
#   docker build --build-arg BUILD_IMAGE=... --build-arg BASE_IMAGE=... .
#
# A tag may be another image tomorrow. A release names the build image by the digest that
# its registry has for it then, as in BUILD_IMAGE=golang:1.26@sha256:...; the empty base has
# none.
#
# The binary is static and needs nothing beside it, so that the base is empty. With one
# of the distroless images for static binaries there are certificates of authorities too,
# which it takes to send traces by HTTPS to a collector with a public one.
ARG BUILD_IMAGE=golang:1.26
ARG BASE_IMAGE=scratch

FROM ${BUILD_IMAGE} AS build
ARG VERSION=devel
ARG TARGETOS
ARG TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY cmd cmd
COPY pkg pkg
# As `make build` does; the Makefile says why.
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false -ldflags "-s -w -X github.com/ambit-dev/ambit/pkg/internal/version.version=${VERSION}" -gcflags="k8s.io/api/...=-l -d=wrapglobalmapctl=2" -gcflags="k8s.io/apiextensions-apiserver/...=-l -d=wrapglobalmapctl=2" -o /ambit ./cmd/ambit

FROM ${BASE_IMAGE}
COPY --from=build /ambit /ambit
USER 65532:65532
ENTRYPOINT ["/ambit"]
