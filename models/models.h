// All models. They are in a separate library: link tandem_models (pkg-config tandem-models).
//
//   auto net = models::resnet50();
//   serialize::load_safetensors(*net, "resnet50.safetensors");  // tandem/nn/weights.h
#pragma once
#include "tandem/models/generate.h"
#include "tandem/models/gpt2.h"
#include "tandem/models/lenet.h"
#include "tandem/models/mobilenet.h"
#include "tandem/models/published.h"
#include "tandem/models/resnet.h"
#include "tandem/models/vgg.h"
#include "tandem/models/vision_transformer.h"
