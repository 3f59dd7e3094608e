module weft.example/bench/http_client

go 1.24
