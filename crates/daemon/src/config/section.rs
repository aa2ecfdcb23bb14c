//! Macros that declare sections, kinds and values of a configuration.

/// Declares a section: its struct, and its keys.
///
/// Each key is `name | alias: Type, presence => "example"`, where the presence is
///
/// | presence | an absent key |
/// | --- | --- |
/// | `required` | is an error |
/// | `default("value")` | has this value, in TOML |
/// | `optional("behavior")` | is `None` |
/// | `section` | is a table of defaults; the type is a section, or a list or map of sections |
/// | `flat { … }` | does not apply: the type is a section whose keys are in this table |
/// | `kind` | is an error; the type is declared with [`kinds!`] |
///
/// The braces of `flat` list the changes to keys in this table:
/// `field | alias as name = "default" => "example" in MILLISECONDS;`.
///
/// A section with `checked` after its name has a method `check`, which is called after the values
/// of the section are resolved.
macro_rules! section {
    (
        $(#[doc = $description:literal])+
        $vis:vis $section:ident $(, $checked:ident)? {
            $(
                $(#[doc = $doc:literal])+
                $key:ident $(| $alias:ident)*: $type:ty,
                $presence:ident $(($text:literal))? $({ $($overrides:tt)* })? $(=> $example:literal)?;
            )+
        }
    ) => {
        $(#[doc = $description])+
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        $vis struct $section {
            $($(#[doc = $doc])+ $vis $key: section!(@type $presence $type),)+
        }

        impl crate::config::read::ConfigSection for $section {
            const SECTION: crate::config::key::SectionSpec = crate::config::key::SectionSpec {
                entries: &[$(section!(
                    @entry $presence $type,
                    crate::config::key::KeySpec {
                        aliases: &[$(stringify!($alias)),*],
                        description: &[$($doc),+],
                        example: section!(@example $($example)?),
                        rust_name: stringify!($key),
                        kind: <$type as crate::config::read::ConfigValue>::KIND,
                        presence: section!(@presence $presence $($text)?),
                    },
                    $($($overrides)*)?
                )),+],
            };
        }

        impl crate::config::read::ConfigValue for $section {
            const KIND: crate::config::key::KeyKind = crate::config::key::KeyKind::Table(
                &<Self as crate::config::read::ConfigSection>::SECTION,
            );

            fn read(
                at: &crate::config::location::Location<'_>,
                diagnostics: &mut crate::config::diagnostic::Diagnostics,
            ) -> Option<Self> {
                $(let $key: Option<section!(@type $presence $type)> =
                    crate::config::read::ConfigValue::read(
                        &section!(@location $presence at $key $($($overrides)*)?),
                        diagnostics,
                    );)+
                Some(Self { $($key: $key?),+ })
            }
        }

        impl crate::config::resolve::Resolve for $section {
            fn resolve(
                &mut self,
                at: &crate::config::location::Location<'_>,
                diagnostics: &mut crate::config::diagnostic::Diagnostics,
            ) {
                $(crate::config::resolve::Resolve::resolve(
                    &mut self.$key,
                    &section!(@location $presence at $key $($($overrides)*)?),
                    diagnostics,
                );)+
                section!(@check $($checked)? self at diagnostics);
            }
        }
    };
    (@type optional $type:ty) => { Option<$type> };
    (@type $presence:ident $type:ty) => { $type };
    (@example) => { "" };
    (@example $example:literal) => { $example };
    (@presence default $text:literal) => { crate::config::key::Presence::Default($text) };
    (@presence optional $text:literal) => { crate::config::key::Presence::Optional($text) };
    (@presence required) => { crate::config::key::Presence::Required };
    (@presence kind) => { crate::config::key::Presence::Required };
    (@presence section) => { crate::config::key::Presence::Section };
    (@presence flat) => { crate::config::key::Presence::Section };
    (@entry flat $type:ty, $spec:expr, $($overrides:tt)*) => {
        crate::config::key::Entry::Flat(
            &<$type as crate::config::read::ConfigSection>::SECTION,
            section!(@overrides $($overrides)*),
        )
    };
    (@entry kind $type:ty, $spec:expr,) => {
        crate::config::key::Entry::Kind($spec, <$type>::KINDS)
    };
    (@entry $presence:ident $type:ty, $spec:expr,) => { crate::config::key::Entry::Key($spec) };
    (@location flat $at:ident $key:ident $($overrides:tt)*) => {
        $at.flat(section!(@overrides $($overrides)*))
    };
    (@location kind $at:ident $key:ident) => { $at };
    (@location $presence:ident $at:ident $key:ident) => { $at.key(stringify!($key)) };
    (@overrides $(
        $key:ident $(| $alias:ident)* $(as $name:ident)? $(= $default:literal => $example:literal)?
        $(in $unit:ident)?;
    )*) => {{
        const OVERRIDES: &[crate::config::key::KeyOverride] = &[$(crate::config::key::KeyOverride {
            rust_name: stringify!($key),
            name: section!(@name $key $($name)?),
            aliases: &[$(stringify!($alias)),*],
            default: section!(@default $($default $example)?),
            number_unit: section!(@unit $($unit)?),
        }),*];
        OVERRIDES
    }};
    (@name $key:ident) => { stringify!($key) };
    (@name $key:ident $name:ident) => { stringify!($name) };
    (@default) => { None };
    (@default $default:literal $example:literal) => { Some(($default, $example)) };
    (@unit) => { std::time::Duration::from_secs(1) };
    (@unit milliseconds) => { std::time::Duration::from_millis(1) };
    (@check $section:ident $at:ident $diagnostics:ident) => {};
    (@check checked $section:ident $at:ident $diagnostics:ident) => {
        $section.check($at, $diagnostics);
    };
}

/// Declares the values of the key `kind`: an enum whose variants contain the section of each kind.
macro_rules! kinds {
    (
        $(#[doc = $description:literal])+
        $vis:vis $kind:ident: $type_name:literal {
            $(
                $(#[doc = $doc:literal])+
                $name:literal => $variant:ident $(($keys:ident: $section:ty))?,
            )+
        }
    ) => {
        $(#[doc = $description])+
        #[derive(Clone, Debug, PartialEq)]
        #[non_exhaustive]
        $vis enum $kind { $($(#[doc = $doc])+ $variant $(($section))?,)+ }

        impl $kind {
            pub(crate) const KINDS: &[crate::config::key::KindSpec] =
                &[$(crate::config::key::KindSpec {
                    name: $name,
                    description: &[$($doc),+],
                    section: kinds!(@section $($section)?),
                }),+];

            /// Returns the value of the key `kind`.
            #[must_use]
            $vis fn name(&self) -> &'static str {
                match self { $(Self::$variant { .. } => $name,)+ }
            }
        }

        impl crate::config::read::ConfigValue for $kind {
            const KIND: crate::config::key::KeyKind = crate::config::key::KeyKind::Value(
                $type_name,
                crate::config::key::ValueKind::Other,
            );

            fn read(
                at: &crate::config::location::Location<'_>,
                diagnostics: &mut crate::config::diagnostic::Diagnostics,
            ) -> Option<Self> {
                #[derive(serde::Deserialize)]
                enum Name { $(#[serde(rename = $name)] $variant,)+ }

                let name = at.key(crate::config::key::KIND_KEY);
                match crate::config::read::read_value(&name, Self::KIND, diagnostics)? {
                    $(Name::$variant => Some(Self::$variant $((
                        <$section as crate::config::read::ConfigValue>::read(at, diagnostics)?
                    ))?),)+
                }
            }
        }

        impl crate::config::resolve::Resolve for $kind {
            fn resolve(
                &mut self,
                at: &crate::config::location::Location<'_>,
                diagnostics: &mut crate::config::diagnostic::Diagnostics,
            ) {
                match self {
                    $(Self::$variant $(($keys))? => {
                        $(crate::config::resolve::Resolve::resolve($keys, at, diagnostics);)?
                    })+
                }
            }
        }
    };
    (@section) => { &crate::config::key::SectionSpec { entries: &[] } };
    (@section $section:ty) => { &<$section as crate::config::read::ConfigSection>::SECTION };
}

/// Declares an enum whose values are written as strings in snake case.
macro_rules! choice {
    (
        $(#[doc = $description:literal])+
        $vis:vis $choice:ident: $type_name:literal {
            $($(#[doc = $doc:literal])+ $variant:ident,)+
        }
    ) => {
        $(#[doc = $description])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        $vis enum $choice { $($(#[doc = $doc])+ $variant,)+ }

        crate::config::section::plain_value! { $choice: Other $type_name; }
    };
}

/// Implements [`ConfigValue`](crate::config::read::ConfigValue) for types that serde reads.
macro_rules! value {
    ($($type:ty: $value_kind:ident $type_name:literal;)+) => {$(
        impl crate::config::read::ConfigValue for $type {
            const KIND: crate::config::key::KeyKind = crate::config::key::KeyKind::Value(
                $type_name,
                crate::config::key::ValueKind::$value_kind,
            );

            fn read(
                at: &crate::config::location::Location<'_>,
                diagnostics: &mut crate::config::diagnostic::Diagnostics,
            ) -> Option<Self> {
                crate::config::read::read_value(at, Self::KIND, diagnostics)
            }
        }
    )+};
}

/// Like [`value!`], for types whose values do not depend on where they are written.
macro_rules! plain_value {
    ($($type:ty: $value_kind:ident $type_name:literal;)+) => {
        crate::config::section::value! { $($type: $value_kind $type_name;)+ }
        $(impl crate::config::resolve::Resolve for $type {})+
    };
}

pub(crate) use {choice, kinds, plain_value, section, value};
