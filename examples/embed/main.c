/* A compiled circuit in a program in C: gradient descent on the energy of a chain of spins.
 *
 *     python -m diastase compile energy:energy --types "f64[layers,4]" --output energy.diastase
 *     python -m diastase export energy.diastase --c build --name energy
 *     cc -Ibuild -o descent main.c -Lbuild -lenergy '-Wl,-rpath,$ORIGIN/build'
 *     ./descent
 *
 * build/energy.h says what the function takes and gives. No Python is running.
 */

#include "energy.h"
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 100, SPINS = 4 };

int main(int count, char **arguments)
{
    int64_t layers = count > 1 ? atoi(arguments[1]) : 3;
    double *angles = calloc(layers > 0 ? layers * SPINS : 1, sizeof *angles);
    if (!angles)
        return 2;
    for (int64_t i = 0; i < layers * SPINS; ++i)
        angles[i] = 0.1 * (double)(i % 7);

    for (int step = 0; step <= STEPS; ++step) {
        struct energy_results results;
        if (energy(layers, angles, &results)) {
            fprintf(stderr, "%s\n", energy_error());
            return 1;
        }
        if (step % 20 == 0)
            printf("step %3d: energy %.6f\n", step, results.result_0);
        for (int64_t i = 0; i < layers * SPINS; ++i)
            angles[i] -= 0.1 * results.result_1[i];
        energy_free(&results);
    }
    free(angles);
    return 0;
}
