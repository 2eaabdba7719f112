// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// onlyUnambiguous refuses requests that authorization and routes could read differently: routes do not decode a slash, and selectors can
// restrict rights. Existing names need no encoding.
func onlyUnambiguous(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.EscapedPath(), "%") {
			refuse(w, r, apierrors.NewBadRequest("the path has encoded characters: names have none that need to be encoded"))
			return
		}
		query := r.URL.Query()
		for _, selector := range []string{"fieldSelector", "labelSelector"} {
			if query.Get(selector) != "" {
				refuse(w, r, apierrors.NewBadRequest(fmt.Sprintf("%s is not supported: ask for a namespace, or select holders with queue and dimension", selector)))
				return
			}
		}
		handler.ServeHTTP(w, r)
	})
}
