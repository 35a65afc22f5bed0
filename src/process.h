/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the process of a mount takes and gives up before its first thread: capabilities, memory of freed buffers, the
 * limit of descriptors. No state; the main thread calls it once.
 */
#pragma once

void process_prepare(void);
