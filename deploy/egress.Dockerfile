# The egress proxy in a container of its own: one static binary, no shell, no
# browser.
#
#   docker build -f deploy/egress.Dockerfile -t bellglass-egress .
#   docker run --read-only --cap-drop ALL -p 3128:3128 \
#     -v ./egress.yaml:/etc/bellglass/egress.yaml:ro bellglass-egress
#
# In a container the listeners of roles take 0.0.0.0: publish their ports only
# to networks that their clients are in. Audit lines go to standard output.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=0.1.0-dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$VERSION" -o /bellglass-egress ./cmd/bellglass-egress

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /bellglass-egress /
USER 65532:65532
EXPOSE 3128
ENTRYPOINT ["/bellglass-egress"]
CMD ["/etc/bellglass/egress.yaml"]
