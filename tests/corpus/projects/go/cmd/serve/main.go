// Command serve answers with the request's path.
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
)

func main() {
	address := flag.String("addr", "127.0.0.1:18200", "address")
	flag.Parse()
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "path %s\n", r.URL.Path)
	})
	log.Fatal(http.ListenAndServe(*address, nil))
}
