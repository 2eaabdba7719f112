// SPDX-License-Identifier: Apache-2.0

package members

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
)

// pageSize is how many objects of a list are in memory at once. Users have tens of thousands of pods in a namespace, of some kilobytes each.
const pageSize = 2000

// eachOf calls a function for each object of a list.
func eachOf(ctx context.Context, all metadata.ResourceInterface, options metav1.ListOptions, call func(*metav1.PartialObjectMetadata)) error {
	options.Limit = pageSize
	for {
		page, err := all.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range page.Items {
			call(&page.Items[i])
		}
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
}
