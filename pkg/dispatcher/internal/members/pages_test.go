// SPDX-License-Identifier: Apache-2.0

package members

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// TestALookHasFewPodsInMemory: four looks at a namespace of fifty thousand pods, whose metadata has some kilobytes each, used up the memory of a leader.
func TestALookHasFewPodsInMemory(t *testing.T) {
	const pods, own = 5 * pageSize / 2, 700
	member := httptest.NewServer(http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		answer.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(request.URL.Path, "/pods") {
			status := apierrors.NewNotFound(schema.GroupResource{Resource: "jobs"}, "train").Status()
			answer.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(answer).Encode(&status)
			return
		}
		limit, _ := strconv.Atoi(request.URL.Query().Get("limit"))
		from, _ := strconv.Atoi(request.URL.Query().Get("continue"))
		if limit <= 0 || limit > pageSize {
			t.Errorf("a list of up to %d pods is asked for", limit)
			limit = pods
		}
		page := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadataList"}}
		for i := from; i < min(pods, from+limit); i++ {
			pod := metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("p", i)}}
			if i >= pods-own {
				ownedBy("batch/v1", "Job", "train")(&pod)
			}
			page.Items = append(page.Items, pod)
		}
		if from+limit < pods {
			page.Continue = strconv.Itoa(from + limit)
		}
		_ = json.NewEncoder(answer).Encode(&page)
	}))
	defer member.Close()
	client, err := metadata.NewForConfig(&rest.Config{Host: member.URL})
	if err != nil {
		t.Fatal(err)
	}
	train := subject{apiVersion: "batch/v1", kind: "Job", namespace: "ns", name: "train"}
	if left, err := train.in(t.Context(), Client{Interface: client}); err != nil || left.Pods != own {
		t.Errorf("got %d pods, %v, want %d", left.Pods, err, own)
	}
}
