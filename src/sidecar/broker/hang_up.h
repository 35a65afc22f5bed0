/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The end of a client's connection on a thread that must not wait. Before Linux 6.16 a client can send descriptors
 * along before anybody takes them (SO_PASSRIGHTS), and the last close of such a one takes as long as the client likes:
 * that of a TCP socket with SO_LINGER, say. A process in its end waits for no such thing (net/ipv4/af_inet.c
 * inet_release()), and if it does for another, it waits alone. While 16 such processes wait, further connections of
 * that kind stay open; the next call closes them when one of the 16 has ended.
 *
 * The main thread's.
 */
#pragma once

/*
 * Closes fd. What the client has sent is taken first: a socket that is closed with something in it gives the other end
 * an error instead of what was sent to it last.
 */
void hang_up(int fd);
