// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
)

// Client reads and writes the record.
type Client struct {
	Records     Objects[v1alpha1.UsageRecord]
	Checkpoints Objects[v1alpha1.UsageCheckpoint]
}

// Objects reads and writes objects of one type. Update fails if the object has another resource version.
type Objects[T any] interface {
	Get(ctx context.Context, name string) (*T, error)
	// Each calls yield for each object.
	Each(ctx context.Context, yield func(*T)) error
	Create(ctx context.Context, object *T) (*T, error)
	Update(ctx context.Context, object *T) (*T, error)
	Delete(ctx context.Context, name string) error
}

// NewClient returns a client of the API server.
func NewClient(client dynamic.Interface) Client {
	return Client{
		Records:     objects[v1alpha1.UsageRecord]{client.Resource(v1alpha1.SchemeGroupVersion.WithResource("usagerecords")), "UsageRecord"},
		Checkpoints: objects[v1alpha1.UsageCheckpoint]{client.Resource(v1alpha1.SchemeGroupVersion.WithResource("usagecheckpoints")), "UsageCheckpoint"},
	}
}

type objects[T any] struct {
	resource dynamic.ResourceInterface
	kind     string
}

// pageSize keeps answers small: a record has up to 2000 series.
const pageSize = 100

func (o objects[T]) Get(ctx context.Context, name string) (*T, error) {
	return decode[T](o.resource.Get(ctx, name, metav1.GetOptions{}))
}

func (o objects[T]) Each(ctx context.Context, yield func(*T)) error {
	options := metav1.ListOptions{Limit: pageSize}
	for {
		list, err := o.resource.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			object, err := decode[T](&list.Items[i], nil)
			if err != nil {
				return err
			}
			yield(object)
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

func (o objects[T]) Create(ctx context.Context, object *T) (*T, error) {
	encoded, err := o.encode(object)
	if err != nil {
		return nil, err
	}
	return decode[T](o.resource.Create(ctx, encoded, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}))
}

func (o objects[T]) Update(ctx context.Context, object *T) (*T, error) {
	encoded, err := o.encode(object)
	if err != nil {
		return nil, err
	}
	return decode[T](o.resource.Update(ctx, encoded, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict}))
}

func (o objects[T]) Delete(ctx context.Context, name string) error {
	return o.resource.Delete(ctx, name, metav1.DeleteOptions{})
}

func (o objects[T]) encode(object *T) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode a %s: %w", o.kind, err)
	}
	encoded := &unstructured.Unstructured{Object: content}
	encoded.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(o.kind))
	return encoded, nil
}

func decode[T any](encoded *unstructured.Unstructured, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	object := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(encoded.Object, object); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", encoded.GetKind(), encoded.GetName(), err)
	}
	return object, nil
}
