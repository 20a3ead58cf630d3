module github.com/bellglass/bellglass/bench/act

go 1.26.0

require (
	github.com/modelcontextprotocol/go-sdk v1.8.0
	github.com/tiktoken-go/tokenizer v0.10.0
)
