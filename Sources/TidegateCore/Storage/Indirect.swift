/// A large value behind one reference, for values that are copied often and read in few places.
///
/// A class with a stored value, so that other modules, too, read a property of the value without copying the rest.
package final class Indirect<Value: Sendable>: Sendable {
    package let value: Value

    package init(_ value: Value) { self.value = value }
}

extension Indirect: Equatable where Value: Equatable {
    package static func == (left: Indirect, right: Indirect) -> Bool { left.value == right.value }
}

extension Indirect: Hashable where Value: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(self.value) }
}
