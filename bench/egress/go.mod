module github.com/bellglass/bellglass/bench/egress

go 1.26.0

require github.com/stripe/smokescreen v0.1.0
