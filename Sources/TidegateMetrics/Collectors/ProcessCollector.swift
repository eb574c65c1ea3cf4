/// The process's own figures, as every Prometheus client gives them.
enum ProcessCollector {
    static func register(in registry: Registry) {
        self.register(Catalogue.processCPU, in: registry) { $0.cpuSeconds }
        self.register(Catalogue.processOpenDescriptors, in: registry) { $0.openDescriptors.map { Double($0) } }
        self.register(Catalogue.processMaxDescriptors, in: registry) { $0.maxDescriptors }
        self.register(Catalogue.processVirtualMemory, in: registry) { $0.virtualBytes.map { Double($0) } }
        self.register(Catalogue.processVirtualMemoryMax, in: registry) { $0.maxVirtualBytes }
        self.register(Catalogue.processResidentMemory, in: registry) { $0.residentBytes.map { Double($0) } }
        self.register(Catalogue.processStartTime, in: registry) { $0.startSeconds }
        self.register(Catalogue.processThreads, in: registry) { $0.threads.map { Double($0) } }
    }

    private static func register(
        _ definition: MetricDefinition, in registry: Registry, _ value: @escaping @Sendable (ProcessSample) -> Double?
    ) {
        registry.collect(definition) { inputs, samples in
            if let number = inputs.process.flatMap(value) { samples.add(value: number) }
        }
    }
}
