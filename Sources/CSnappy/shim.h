#pragma once
// The C face of snappy: blocks, not framed streams.
#include <snappy-c.h>
