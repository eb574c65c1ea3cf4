#pragma once
// Digests, message authentication codes, certificates and constant-time comparison of libcrypto, which libcurl links
// anyway.
// Swift can call these functions as they are.
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

// A macro, which Swift cannot call.
static inline void tg_openssl_free(void *memory) { OPENSSL_free(memory); }
