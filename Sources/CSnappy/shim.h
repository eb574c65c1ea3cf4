#pragma once
// The C interface of snappy: blocks, not framed streams.
#include <snappy-c.h>
