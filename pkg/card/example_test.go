// SPDX-License-Identifier: Apache-2.0

package card_test

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/devicequota/devicequota/pkg/card"
)

// A card quota is the annotation volcano.sh/card.quota of a queue.
func ExampleNumbers() {
	quota, err := card.Numbers(`{"NVIDIA-H200": 8, "NVIDIA-H20/mps-96g*1/2": 16}`)
	if err != nil {
		panic(err)
	}
	for _, n := range quota {
		fmt.Println(n.Card, n.Count)
	}

	_, err = card.Numbers(`{"NVIDIA-H200": -1}`)
	fmt.Println(err)
	// Output:
	// NVIDIA-H200 8
	// NVIDIA-H20/mps-96g*1/2 16
	// at character 18: -1 for NVIDIA-H200 is not a whole number from 0 to 9223372036854775807; write a JSON object of card names and whole numbers, such as {"NVIDIA-H200": 8}
}

// The labels of a node contain the model. Its allocatable resources contain the numbers.
func ExampleRead() {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{
			"nvidia.com/gpu.product": "NVIDIA-H20", "nvidia.com/gpu.memory": "97871", "nvidia.com/gpu.replicas": "2",
		}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"cpu": resource.MustParse("64"), "nvidia.com/gpu": resource.MustParse("4"), "nvidia.com/gpu.shared": resource.MustParse("8"),
		}},
	}
	read := card.Read(node, nil)
	fmt.Println("model:", read.Model)
	for _, offer := range read.Offers {
		fmt.Println(offer.Count, offer.Card, "as", offer.Resource)
	}
	// Output:
	// model: NVIDIA-H20
	// 4 NVIDIA-H20 as nvidia.com/gpu
	// 8 NVIDIA-H20/mps-96g*1/2 as nvidia.com/gpu.shared
}
