#ifndef TIDEGATE_CRE2_H
#define TIDEGATE_CRE2_H
// A C interface to RE2, a C++ library.
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A compiled expression; any number of threads may search with it at the same time.
typedef struct tg_re2 tg_re2;

/// Compiles a pattern; NULL only if out of memory. tg_re2_error reports an invalid pattern.
tg_re2 *tg_re2_new(const char *pattern, size_t length);

/// The pattern's error, valid as long as the expression; NULL if the pattern is valid.
const char *tg_re2_error(const tg_re2 *expression);

/// The number of capturing groups.
int tg_re2_groups(const tg_re2 *expression);

/// The name of a group, valid as long as the expression; NULL if it has none.
const char *tg_re2_group_name(const tg_re2 *expression, int number);

/// Searches; returns 1 for a match. `bounds` then holds the start and end of the match and of `count` - 1 groups; both
/// are (size_t)-1 for a group that did not take part.
int tg_re2_search(const tg_re2 *expression, const char *text, size_t length, size_t *bounds, int count);

void tg_re2_free(tg_re2 *expression);

#ifdef __cplusplus
}
#endif
#endif
