// SPDX-License-Identifier: Apache-2.0
// Comes before everything that reads the address.
import { rememberToken } from './token';

rememberToken();
