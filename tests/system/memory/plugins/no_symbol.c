/* A library, but no memory manager. */
int no_memory_manager_here(void);
int no_memory_manager_here(void) { return 0; }
