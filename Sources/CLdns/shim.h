#pragma once
// The packets of ldns: building a question, parsing an answer. Its resolver, keys and DNSSEC are not included, because
// they need OpenSSL's headers.
#include <stddef.h>
#include <stdint.h>
// Used by <ldns/host2wire.h>, which does not include it.
#include <ldns/rbtree.h>
#include <ldns/host2wire.h>
#include <ldns/packet.h>
#include <ldns/rdata.h>
#include <ldns/rr.h>
#include <ldns/wire2host.h>
