// An HTTPS server by net/http for bench/tls/run: server PORT CERTIFICATE KEY FOLDER.
package main

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	port, certificate, key, folder := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	routes := http.NewServeMux()
	routes.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "hello\n")
	})
	routes.Handle("GET /files/", http.FileServer(http.Dir(folder)))
	server := http.Server{
		Addr:    "127.0.0.1:" + port,
		Handler: routes,
		// Its clients leave without the end of the stream, of which it would tell each time.
		ErrorLog:     log.New(io.Discard, "", 0),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	log.Fatal(server.ListenAndServeTLS(certificate, key))
}
