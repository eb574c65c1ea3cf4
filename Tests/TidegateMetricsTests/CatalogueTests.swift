import Testing
import TidegateCore

@testable import TidegateMetrics

@Suite struct CatalogueTests {
    private let definitions = Fixture().recorder.definitions

    @Test("No metric is listed twice, and no family's samples clash with another's")
    func unique() {
        let names = self.definitions.map(\.name)
        #expect(Set(names).count == names.count)
        let suffixes = ["_total", "_created", "_count", "_sum", "_bucket"]
        for definition in self.definitions {
            let reserved = suffixes.map { definition.family + $0 }.filter { $0 != definition.name }
            #expect(Set(reserved).isDisjoint(with: names), "\(definition.name)")
        }
    }

    @Test("Names follow the rules")
    func names() {
        for definition in self.definitions {
            let name = definition.name
            #expect(name.hasPrefix("tidegate_") || name.hasPrefix("process_"))
            #expect(name.allSatisfy { $0.isLowercase || $0.isNumber || $0 == "_" }, "\(name)")
            #expect(name.hasSuffix("_total") == (definition.kind == .counter), "\(name)")
            for reserved in ["_created", "_count", "_sum", "_bucket"] { #expect(!name.hasSuffix(reserved), "\(name)") }
            for label in definition.labels { #expect(!["le", "quantile", "instance", "job"].contains(label)) }
        }
    }

    @Test("The unit is the last part of the family's name, and every base unit is declared")
    func units() {
        for definition in self.definitions {
            for unit in [MetricDefinition.Unit.seconds, .bytes] {
                #expect(definition.family.hasSuffix("_" + unit.rawValue) == (definition.unit == unit), "\(definition)")
            }
        }
    }

    @Test("Help is one sentence")
    func help() {
        for definition in self.definitions {
            #expect(definition.help.hasSuffix("."), "\(definition.name)")
            #expect(definition.help.first?.isUppercase == true, "\(definition.name)")
        }
    }

    @Test("Buckets ascend and fit a histogram's cells")
    func buckets() {
        for definition in self.definitions {
            #expect(definition.bounds.count <= HistogramLayout.maxBounds, "\(definition.name)")
            #expect(zip(definition.bounds, definition.bounds.dropFirst()).allSatisfy { $0 < $1 }, "\(definition.name)")
        }
    }

    @Test("Methods and codes are closed sets")
    func closedLabels() {
        #expect(RequestMethod("GET") == .get)
        #expect(RequestMethod("get") == .other)
        #expect(RequestMethod("BREW") == .other)
        #expect(AttemptKey(method: .get, status: nil).values == ["GET", "none"])
        #expect(AttemptKey(method: .other, status: 99).values == ["_OTHER", "none"])
        #expect(AttemptKey(method: .get, status: 600).values == ["GET", "none"])
        #expect(AttemptKey(method: .get, status: 404).values == ["GET", "404"])
        #expect(
            [nil, 100, 204, 301, 404, 503, 0, 999].map { CodeClass(status: $0).label } == [
                "none", "1xx", "2xx", "3xx", "4xx", "5xx", "none", "none",
            ])
    }
}
