// SPDX-License-Identifier: Apache-2.0

// Package ui is the web page of the scheduler's endpoint. Its static files read visibility.devicequota.io/v1alpha1 in the browser, with
// the rights of the user. The files contain no data.
package ui

import (
	"embed"
	"io/fs"
	"net/http"
)

//go:embed page
var files embed.FS

// policy allows the page to load only its own files, and to connect only to its own server.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Handler serves the page at /. The page expects the API one level above. The server adds the headers of all its answers.
func Handler() http.Handler {
	page, err := fs.Sub(files, "page")
	if err != nil {
		panic(err) // the folder is embedded
	}
	static := http.FileServerFS(page)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("Cache-Control", "no-cache")
		static.ServeHTTP(w, r)
	})
}
