/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* cmocka's header needs these four first. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
