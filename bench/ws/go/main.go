// An echo server on gorilla/websocket: main PORT.
package main

import (
	"net/http"
	"os"

	"github.com/gorilla/websocket"
)

func main() {
	upgrader := websocket.Upgrader{ReadBufferSize: 4096, WriteBufferSize: 4096}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		c, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		for {
			kind, message, err := c.ReadMessage()
			if err != nil || c.WriteMessage(kind, message) != nil {
				return
			}
		}
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
