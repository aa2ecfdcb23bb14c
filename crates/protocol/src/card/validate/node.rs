//! JSON values of a card with their pointers.

use std::borrow::Cow;

use serde_json::Value;

/// Value in a card and the JSON pointer to it.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    value: &'a Value,
    pointer: String,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self { value, pointer: String::new() }
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    pub(super) fn pointer(&self) -> &str {
        &self.pointer
    }

    /// Returns the pointer to the member `name`, in the spelling used by the card if it is present.
    pub(super) fn pointer_to(&self, name: &str) -> String {
        self.get(name).map_or_else(|| self.child_pointer(name), |it| it.pointer)
    }

    /// Returns the member `name` in camelCase or snake_case; `null` counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<Self> {
        let members = self.value.as_object()?;
        let snake = snake_name(name);
        let (name, value) = members
            .get_key_value(name)
            .filter(|(_, it)| !it.is_null())
            .or_else(|| members.get_key_value(&*snake).filter(|(_, it)| !it.is_null()))?;
        Some(Self { value, pointer: self.child_pointer(name) })
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns the members of an object; empty for other types.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Self)> {
        let members = self.value.as_object().into_iter().flatten();
        members
            .map(|(name, value)| (name.as_str(), Self { value, pointer: self.child_pointer(name) }))
    }

    /// Returns the items of a list; `None` for other types.
    pub(super) fn items(&self) -> Option<Vec<Self>> {
        let items = self.value.as_array()?.iter().enumerate();
        Some(
            items
                .map(|(index, value)| Self { value, pointer: format!("{}/{index}", self.pointer) })
                .collect(),
        )
    }

    /// Returns a human-readable name of the value's type.
    pub(super) fn type_name(&self) -> &'static str {
        match self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Object(_) => "an object",
        }
    }

    fn child_pointer(&self, name: &str) -> String {
        let escaped: Cow<'_, str> = if name.contains(['~', '/']) {
            name.replace('~', "~0").replace('/', "~1").into()
        } else {
            name.into()
        };
        format!("{}/{escaped}", self.pointer)
    }
}

/// Converts `inputModes` to `input_modes`.
pub(super) fn snake_name(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for character in name.chars() {
        if character.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(character.to_ascii_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn pointers_use_card_spelling_and_are_escaped() {
        let value = json!({"input_modes": [{"a/b~": 1}], "gone": null});
        let root = Node::root(&value);
        let modes = root.get("inputModes").unwrap();
        let item = &modes.items().unwrap()[0];
        assert_eq!(modes.pointer(), "/input_modes");
        assert_eq!(item.pointer_to("a/b~"), "/input_modes/0/a~1b~0");
        assert_eq!(value.pointer(&item.pointer_to("a/b~")), Some(&json!(1)));
        assert!(!root.has("gone"));
        assert_eq!(root.pointer_to("gone"), "/gone");
    }
}
