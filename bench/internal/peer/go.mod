module github.com/bellglass/bellglass/bench/internal/peer

go 1.26.0

require github.com/modelcontextprotocol/go-sdk v1.8.0
