// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	schedulingv1beta1 "github.com/devicequota/devicequota/apis/scheduling/v1beta1"
)

// queueServer is an API server that has nothing but queues. They stay as they are.
type queueServer struct {
	schedulingv1beta1.QueueList
}

// RoundTrip implements http.RoundTripper.
func (s *queueServer) RoundTrip(request *http.Request) (*http.Response, error) {
	switch {
	case request.Method == http.MethodPatch:
		return answer(http.StatusOK, schedulingv1beta1.Queue{})
	case request.Method != http.MethodGet:
		return answer(http.StatusMethodNotAllowed, metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonMethodNotAllowed, Code: http.StatusMethodNotAllowed})
	case request.URL.Query().Get("watch") != "":
		events, writer := io.Pipe()
		go func() {
			<-request.Context().Done()
			writer.CloseWithError(request.Context().Err())
		}()
		return response(http.StatusOK, events), nil
	default:
		return answer(http.StatusOK, s.QueueList)
	}
}

func answer(code int, object any) (*http.Response, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return response(code, io.NopCloser(bytes.NewReader(body))), nil
}

func response(code int, body io.ReadCloser) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}
}
