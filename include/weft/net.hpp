// SPDX-License-Identifier: MIT
// The network: TCP, UDP, Unix sockets, addresses.
#pragma once

#include "weft/address.hpp"
#include "weft/tcp.hpp"
#include "weft/udp.hpp"
#include "weft/unix_socket.hpp"
