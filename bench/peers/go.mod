module github.com/bellglass/bellglass/bench/peers

go 1.26.0
