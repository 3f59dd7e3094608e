// main.go - the users service on net/http and go-redis, as seed 004 has it: server HTTP_PORT REDIS_PORT. It uses all CPUs.
package main

import (
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"

	"github.com/redis/go-redis/v9"
)

type user struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: server HTTP_PORT REDIS_PORT")
	}
	store := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + os.Args[2], PoolSize: 20}) // 20: the seed's
	routes := http.NewServeMux()
	routes.HandleFunc("GET /users/{id}", func(out http.ResponseWriter, in *http.Request) {
		id := in.PathValue("id")
		name, err := store.Get(in.Context(), "user:"+id).Result()
		switch {
		case errors.Is(err, redis.Nil):
			http.NotFound(out, in)
		case err != nil:
			http.Error(out, err.Error(), http.StatusInternalServerError)
		default:
			out.Header().Set("Content-Type", "application/json")
			json.NewEncoder(out).Encode(user{id, name})
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], routes))
}
