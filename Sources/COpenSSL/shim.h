#pragma once
// Digests, message authentication codes and constant-time comparison of libcrypto, which libcurl links anyway.
// Swift can call these functions as they are.
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
