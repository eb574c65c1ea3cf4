#include "CBuild.h"

uint64_t tg_build_commit(void) { return TIDEGATE_COMMIT; }

bool tg_build_is_modified(void) { return TIDEGATE_IS_MODIFIED; }
