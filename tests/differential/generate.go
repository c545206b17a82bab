package main

import (
	"fmt"
	"math/rand/v2"
)

// seeds says how many cases of a generated topic there are; the number of a case and the seed make its dice.
type seeds struct {
	Seed  uint64 `json:"seed"`
	Cases int    `json:"cases"`
}

// generate makes the topics that are not written down request by request.
func generate(folder string, kube *server) ([]topic, error) {
	var kept map[string]seeds
	if err := readTemplate(folder, "seeds.yaml", &kept); err != nil {
		return nil, err
	}
	served, err := discover(kube)
	if err != nil {
		return nil, err
	}
	topics := []topic{kinds(served), schemas(kept["crd-random"])}
	for name, make := range map[string]func(string, []resource) (topic, error){
		"lives": lives, "openapi": documents,
	} {
		made, err := make(folder, served)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		topics = append(topics, made)
	}
	for name, make := range map[string]func(string, seeds) (topic, error){
		"apply-random": applies, "strategic-random": strategics,
	} {
		made, err := make(folder, kept[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		topics = append(topics, made)
	}
	return topics, nil
}

// throw gives every case its dice and its name.
func throw(topic string, kept seeds, each func(name string, at int, dice *rand.Rand)) {
	for at := range kept.Cases {
		each(fmt.Sprintf("%s/%d", topic, at), at, rand.New(rand.NewPCG(kept.Seed, uint64(at))))
	}
}
