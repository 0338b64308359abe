// Part of the emulated CUB.
#pragma once
#include "../cub.cuh"
