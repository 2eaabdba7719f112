// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"context"
	"fmt"

	storagev1 "k8s.io/api/storage/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/storage"
	storageinformers "k8s.io/client-go/informers/storage/v1"
	storagelisters "k8s.io/client-go/listers/storage/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/features"
	k8sframework "k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
)

// newCSILimits returns Kubernetes' plugin as if there were no other VolumeAttachments.
func newCSILimits(handle k8sframework.Handle, attachments []*storagev1.VolumeAttachment) (k8sframework.FilterPlugin, error) {
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	for _, attachment := range attachments {
		if err := indexer.Add(attachment); err != nil {
			return nil, fmt.Errorf("take VolumeAttachment %s: %w", attachment.Name, err)
		}
	}
	attached := attachedHandle{handle, storagelisters.NewVolumeAttachmentLister(indexer)}
	plugin, err := nodevolumelimits.NewCSI(context.Background(), nil, attached, feature.Features{
		EnableCSIMigrationPortworx: utilfeature.DefaultFeatureGate.Enabled(features.CSIMigrationPortworx)})
	if err != nil {
		return nil, fmt.Errorf("count CSI volumes: %w", err)
	}
	limits, ok := plugin.(k8sframework.FilterPlugin)
	if !ok {
		return nil, fmt.Errorf("count CSI volumes: %T is no filter", plugin)
	}
	return limits, nil
}

// attachedHandle and what follows lead to another lister of VolumeAttachments.
type attachedHandle struct {
	k8sframework.Handle
	lister storagelisters.VolumeAttachmentLister
}

func (a attachedHandle) SharedInformerFactory() informers.SharedInformerFactory {
	return attachedFactory{a.Handle.SharedInformerFactory(), a.lister}
}

type attachedFactory struct {
	informers.SharedInformerFactory
	lister storagelisters.VolumeAttachmentLister
}

func (a attachedFactory) Storage() storage.Interface {
	return attachedStorage{a.SharedInformerFactory.Storage(), a.lister}
}

type attachedStorage struct {
	storage.Interface
	lister storagelisters.VolumeAttachmentLister
}

func (a attachedStorage) V1() storageinformers.Interface {
	return attachedV1{a.Interface.V1(), a.lister}
}

type attachedV1 struct {
	storageinformers.Interface
	lister storagelisters.VolumeAttachmentLister
}

func (a attachedV1) VolumeAttachments() storageinformers.VolumeAttachmentInformer {
	return attachedInformer{a.Interface.VolumeAttachments(), a.lister}
}

type attachedInformer struct {
	storageinformers.VolumeAttachmentInformer
	lister storagelisters.VolumeAttachmentLister
}

func (a attachedInformer) Lister() storagelisters.VolumeAttachmentLister { return a.lister }
