// The CPU's captured steps: the functions of its capture table (core/backend/capture.h).
#pragma once
#include <string>

#include "tandem/core/backend/capture.h"

namespace tandem::cpu {

void* create_capture(Device device);
void destroy_capture(void* capture);
void enter_capture(void* capture);
void begin_capture(void* capture, bool fuses);
CaptureResult end_capture(void* capture);
void place_capture(void* capture, TensorList results);
void begin_numbers(void* capture);
std::string end_numbers(void* capture);
void replay_capture(void* capture);

}  // namespace tandem::cpu
