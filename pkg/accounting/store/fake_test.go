// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/devicequota/devicequota/apis/accounting/v1alpha1"
)

// server is an API server whose requests fail at random, before or after their change.
type server struct {
	random *rand.Rand
	// faults is the percentage of requests that fail.
	faults      int
	version     int
	records     map[string]*v1alpha1.UsageRecord
	checkpoints map[string]*v1alpha1.UsageCheckpoint
}

func newServer() *server {
	return &server{random: rand.New(rand.NewPCG(1, 1)), records: map[string]*v1alpha1.UsageRecord{}, checkpoints: map[string]*v1alpha1.UsageCheckpoint{}}
}

func (s *server) client() Client {
	return Client{
		Records: stored[v1alpha1.UsageRecord, *v1alpha1.UsageRecord]{s, s.records}, Checkpoints: stored[v1alpha1.UsageCheckpoint, *v1alpha1.UsageCheckpoint]{s, s.checkpoints},
	}
}

var errFault = errors.New("the connection was lost")

func (s *server) fault() error {
	if s.random.IntN(100) < s.faults {
		return errFault
	}
	return nil
}

type object[T any] interface {
	*T
	metav1.Object
	DeepCopy() *T
}

// stored are the objects of one type. Updates need the current resource version.
type stored[T any, P object[T]] struct {
	server  *server
	objects map[string]*T
}

var resource = schema.GroupResource{Group: "accounting.devicequota.io", Resource: "usagerecords"}

func (s stored[T, P]) Get(_ context.Context, name string) (*T, error) {
	if err := s.server.fault(); err != nil {
		return nil, err
	}
	if object, found := s.objects[name]; found {
		return P(object).DeepCopy(), nil
	}
	return nil, apierrors.NewNotFound(resource, name)
}

func (s stored[T, P]) Each(_ context.Context, yield func(*T)) error {
	for _, object := range s.objects {
		yield(P(object).DeepCopy())
	}
	return s.server.fault()
}

func (s stored[T, P]) Create(_ context.Context, object *T) (*T, error) {
	return s.write(object, func(name string) error {
		if s.objects[name] != nil {
			return apierrors.NewAlreadyExists(resource, name)
		}
		return nil
	})
}

func (s stored[T, P]) Update(_ context.Context, object *T) (*T, error) {
	return s.write(object, func(name string) error {
		current := P(s.objects[name])
		switch {
		case current == nil:
			return apierrors.NewNotFound(resource, name)
		case current.GetResourceVersion() != P(object).GetResourceVersion():
			return apierrors.NewConflict(resource, name, errors.New("the object has been modified"))
		}
		return nil
	})
}

func (s stored[T, P]) write(object *T, check func(name string) error) (*T, error) {
	if err := s.server.fault(); err != nil {
		return nil, err
	}
	name := P(object).GetName()
	if err := check(name); err != nil {
		return nil, err
	}
	written := P(object).DeepCopy()
	s.server.version++
	P(written).SetResourceVersion(strconv.Itoa(s.server.version))
	s.objects[name] = written
	if err := s.server.fault(); err != nil {
		return nil, err
	}
	return P(written).DeepCopy(), nil
}

func (s stored[T, P]) Delete(_ context.Context, name string) error {
	delete(s.objects, name)
	return s.server.fault()
}
