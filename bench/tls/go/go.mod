module weft.example/bench/tls

go 1.24
