/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Prepares the process of a mount: drops capabilities, makes malloc() keep freed buffers, raises the limit of
 * descriptors. No state. The main thread calls it once, before the process has other threads.
 */
#pragma once

void process_prepare(void);
