#pragma once
// Passphrase hashing of libxcrypt; what the C library's own headers declare of it is not all.
#include <crypt.h>
