#pragma once
// Passphrase hashing of libxcrypt; the C library's own headers do not declare all of it.
#include <crypt.h>
